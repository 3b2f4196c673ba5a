/* Ending the job from a tool that has just said why. */
#ifndef PSE_TOOL_ABORT_JOB_H
#define PSE_TOOL_ABORT_JOB_H

/* Abort all processes of the job with an exit code, after what was printed has had time to reach the user:
 * mpiexec's proxies may drop what a rank prints right before it aborts. */
_Noreturn void pse_tool_abort_job(int code);

#endif
