# What modules write, with a prefix before every line.

cdef class OutputPipe:
    """What is written to descriptors 1 and 2 goes through pipes, whose lines a thread passes on with a prefix."""

    cdef pse_engine_output_pipe *pipes

    def __init__(self):
        cdef int code = pse_engine_output_pipe_open(&self.pipes)
        if code != 0:
            raise OSError(-code, os.strerror(-code))

    def close(self):
        """Pass on what was written, and make the descriptors again what they were."""
        if self.pipes is not NULL:
            pse_engine_output_pipe_close(self.pipes)
            self.pipes = NULL


cdef class SitePrefixes:
    """What the prefixes of one rank's calls say.

    `rows` has, for every call site, the thread (with its processor), and name and slot of the counters of the
    loops around it; `idle` is the prefix between two calls.
    """

    cdef pse_engine_site_prefix *sites
    cdef pse_engine_loop_name *loops
    cdef bytes idle
    cdef list texts

    def __cinit__(self, list rows, bytes idle):
        cdef int32_t place = 0
        self.idle, self.texts = idle, []
        self.sites = <pse_engine_site_prefix *>calloc(len(rows) + 1, sizeof(pse_engine_site_prefix))
        self.loops = <pse_engine_loop_name *>calloc(sum(len(row[1]) for row in rows) + 1, sizeof(pse_engine_loop_name))
        if self.sites is NULL or self.loops is NULL:
            raise MemoryError("no memory left for prefixes of lines")
        for site, (thread, counters) in enumerate(rows):
            self.sites[site].thread, self.sites[site].loops = self._kept(thread), &self.loops[place]
            self.sites[site].count = len(counters)
            for name, slot in counters:
                self.loops[place].name, self.loops[place].slot = self._kept(name), slot
                place += 1

    def __dealloc__(self):
        free(self.sites)
        free(self.loops)

    cdef const char *_kept(self, str text) except NULL:
        cdef bytes data = text.encode()
        self.texts.append(data)
        return data
