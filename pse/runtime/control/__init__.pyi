from ._address import remove_stale as remove_stale, running as running
from ._client import RunControl as RunControl
from ._drawing import frame_text as frame_text, status_text as status_text
from ._frames import Frame as Frame, save_frames as save_frames
from ._recording import Recording as Recording
from ._wire import MOST_ROUNDS as MOST_ROUNDS
