# Around the snippets of docs/python.md.
# snippet 1

import numpy as np

values = np.arange(10.0)
with rma.allocate(8 * 10, world) as memory:  # noqa: F821
    own = memory.array("d")
    own[:] = 0
    result = np.zeros(10)
    target = memory.at(following, "d")  # noqa: F821
    world.Barrier()  # noqa: F821
    # snippet 2
    assert list(own) == list(values), own
    # snippet 3
    assert list(result) == list(values), result
    # snippet 4
    world.Barrier()  # noqa: F821
    del own
