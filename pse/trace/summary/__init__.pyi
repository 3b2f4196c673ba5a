from ._text import print_summary as print_summary
