from ._program_file import ProgramFile as ProgramFile, check_file as check_file
from ._source_file import (
    open_text as open_text,
    quoted_sources as quoted_sources,
    read_program as read_program,
)
