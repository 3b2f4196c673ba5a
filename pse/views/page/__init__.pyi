from ._html import write_html as write_html
