# The plan: the tables of one rank, as NumPy arrays with the layout of plan.h.

def table_sizes():
    """Give the sizes in bytes of plan.h's structs, by name of the plan's table."""
    return {
        "instructions": sizeof(pse_instruction), "terms": sizeof(pse_term),
        "expressions": sizeof(pse_expression),
        "arguments": sizeof(pse_argument), "parts": sizeof(pse_part), "moves": sizeof(pse_move),
        "pushes": sizeof(pse_push),
        "calls": sizeof(pse_call), "loops": sizeof(pse_loop),
        "countings": sizeof(pse_counting), "message": sizeof(pse_message),
        "fibers": sizeof(pse_fiber), "regions": sizeof(pse_region_row),
    }


cdef class Plan:
    """The tables of one rank, ready to run; keeps the arrays (and whatever texts they point to) alive."""

    cdef pse_plan plan
    cdef object kept

    def __init__(self, dict numbers, dict tables, object kept):
        cdef pse_plan *plan = &self.plan
        self.kept = (tables, kept)
        plan.rank, plan.ranks, plan.partition = numbers["rank"], numbers["ranks"], numbers["partition"]
        plan.slots, plan.edges = numbers["slots"], len(tables["edge_sites"])
        plan.loops_count, plan.pushes_count = numbers["loops"], len(tables["pushes"])
        plan.local_limit, plan.shared = numbers["local_limit"], numbers["shared"]
        plan.has_remote = numbers["has_remote"]
        plan.instructions = <const pse_instruction *>address(tables["instructions"])
        plan.terms = <const pse_term *>address(tables["terms"])
        plan.expressions = <const pse_expression *>address(tables["expressions"])
        plan.arguments = <const pse_argument *>address(tables["arguments"])
        plan.parts = <const pse_part *>address(tables["parts"])
        plan.moves = <const pse_move *>address(tables["moves"])
        plan.pushes = <const pse_push *>address(tables["pushes"])
        plan.releases = <const int32_t *>address(tables["releases"])
        plan.calls = <const pse_call *>address(tables["calls"])
        plan.loops = <const pse_loop *>address(tables["loops"])
        plan.fibers = <const pse_fiber *>address(tables["fibers"])
        plan.regions = <const pse_region_row *>address(tables["regions"])
        plan.owners = <const uint32_t *>address(tables["owners"])
        plan.instructions_count = len(tables["instructions"])
        plan.loads_count = numbers.get("loads", 0)
        plan.countings = <const pse_counting *>address(tables["countings"])
        plan.participants = <const uint32_t *>address(tables["participants"])
        plan.edge_sites = <const uint32_t *>address(tables["edge_sites"])
        plan.forward_first = <const uint32_t *>address(tables["forward_first"])
        plan.forwards = <const uint32_t *>address(tables["forwards"])
        plan.credit_first = <const uint32_t *>address(tables["credit_first"])
        plan.credits = <const uint32_t *>address(tables["credits"])
        plan.edge_depths = <const uint32_t *>address(tables["edge_depths"])
        plan.remote = <const uint8_t *>address(tables["remote"])
        plan.ensemble = <const uint32_t *>address(tables["ensemble"])
        plan.ensemble_count, plan.place = len(tables["ensemble"]), numbers["place"]


cdef const void *address(table) except? NULL:
    """First byte of a NumPy array that the plan keeps alive."""
    cdef uintptr_t first = table.ctypes.data
    return <const void *>first
