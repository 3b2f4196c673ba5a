from .model._errors import AdviceError as AdviceError
from .rewrite._advice import Advice as Advice, advise as advise, run_time as run_time
from .rewrite._edits import Edit as Edit
from .search._prediction import Prediction as Prediction
from .search._sensitivity import sensitivity as sensitivity, sensitivity_text as sensitivity_text
from .search._variation import Sensitivity as Sensitivity, SiteVariation as SiteVariation
from .search._whatif import WhatIf as WhatIf, parse_whatif as parse_whatif
