from ._text import print_summary as print_summary, seconds as seconds, share as share, size as size
