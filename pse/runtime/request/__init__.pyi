from ._changes import recorded_changes as recorded_changes
from ._prepared import Request as Request
from ._rank_arguments import rank_arguments as rank_arguments, read_rank_arguments as read_rank_arguments
from ._request import prepare as prepare
from ._watchable import require_watchable as require_watchable
