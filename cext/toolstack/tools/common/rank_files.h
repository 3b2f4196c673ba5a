/* A directory with one file for each rank. */
#ifndef PSE_TOOL_RANK_FILES_H
#define PSE_TOOL_RANK_FILES_H

/* Make a directory and all that is above it.  What can't be made here shows when a file is opened there. */
void pse_tool_make_directory(const char *path);

/* Remove rank-R<suffix> for all ranks from `ranks` on: an older run with more ranks has left them. */
void pse_tool_remove_older_files(const char *directory, const char *suffix, int ranks);

#endif
