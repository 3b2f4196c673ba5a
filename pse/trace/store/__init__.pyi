from ._chunked_reading import chunks as chunks
from ._residuals import residuals as residuals
from ._text_records import decode_texts as decode_texts
