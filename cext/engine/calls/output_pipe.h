/* What modules write to descriptors 1 and 2 (`--prefix`): it goes through pipes, and a thread puts a prefix
 * before every line.
 *
 * All that was written before `pse_engine_output_pipe_set_prefix` gets the prefix of before.  A line that has
 * no end then gets one.  The part of a line, a prompt say, is written without waiting for its end only where
 * a terminal shows it.  Lines of up to 64 KiB are written at once, so that lines of different ranks don't
 * mix.
 */
#ifndef PSE_ENGINE_OUTPUT_PIPE_H
#define PSE_ENGINE_OUTPUT_PIPE_H

typedef struct pse_engine_output_pipe pse_engine_output_pipe;

int pse_engine_output_pipe_open(pse_engine_output_pipe **out); /* 0, or what errno says with a minus */
void pse_engine_output_pipe_set_prefix(pse_engine_output_pipe *pipes, const char *prefix);
void pse_engine_output_pipe_close(
    pse_engine_output_pipe *pipes); /* descriptors 1 and 2 are again what they were */

#endif
