"""Training scripts, used from a checkout: ``python -m train.ppo flip7``, where ``--help`` explains every argument.

They need the extra ``train``: ``pip install -e '.[train]'``.
"""

import os

# evaluations multiply small matrices, which several threads would only slow down
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
