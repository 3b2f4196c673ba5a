from ._saving import choose_format as choose_format
