from ._cube_page import cube_page as cube_page, write_cube_page as write_cube_page
