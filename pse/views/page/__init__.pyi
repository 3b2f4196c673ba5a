from ._html import page_html as page_html, write_html as write_html
from ._pair import Pair as Pair
from ._server import serve_pages as serve_pages
