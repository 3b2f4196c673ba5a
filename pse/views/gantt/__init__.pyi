from ._gantt_lod import blocks as blocks
