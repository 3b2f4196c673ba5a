/* Comparing the clocks of hosts, at the beginning and at the end of a run, so that times can be compared.
 *
 * The first rank of each host asks the first rank of its metahost (PSE_METAHOST) what time it is, and that of
 * each metahost asks rank 0, some times; it keeps the answer that came soonest: half of that round trip is
 * what the comparison may be wrong by.  Readers interpolate between the two times.  One host alone has
 * nothing to compare, and a run under `pse run --trace` compares the clocks itself.
 */
#ifndef PSE_TRACE_CLOCKS_H
#define PSE_TRACE_CLOCKS_H

/* All ranks find the first rank of each host.  Makes a communicator if there are several hosts. */
void pse_trace_find_hosts(int ranks);
/* All ranks take part; does nothing before the hosts are found. */
void pse_trace_compare_clocks(void);
/* The last comparison. */
void pse_trace_end_clocks(void);

#endif
