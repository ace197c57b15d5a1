"""Training scripts, used from the checkout: ``python -m train.ppo flip7`` (``--help`` explains every argument).

They need the extra ``train``: ``pip install -e '.[train]'``.
"""

import os

# NumPy plays evaluations with small matrices: threads that wait for each other would only slow it down
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
