from ._frames import frame_scripts as frame_scripts, take_frame as take_frame
