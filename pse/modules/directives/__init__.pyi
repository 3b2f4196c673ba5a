from ._finder import Finder as Finder
