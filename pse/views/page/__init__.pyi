from ._html import element_script as element_script, page_html as page_html, write_html as write_html
from ._pair import Pair as Pair
from ._server import serve_pages as serve_pages
