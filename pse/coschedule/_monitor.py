def begin(*a): pass
def end(*a): pass
