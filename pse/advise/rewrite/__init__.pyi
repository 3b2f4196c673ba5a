from ._render import show as show
