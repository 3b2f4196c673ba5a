from ._finder import Finder as Finder, language_of as language_of, read_source as read_source
