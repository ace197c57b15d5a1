"""Players built on the package, used from a checkout, and the shipped checkpoints (``agents/<game>.safetensors``).

A checkpoint is a spec like any other: ``agents/flip7.safetensors`` can be named wherever ``ev`` can, and playing it needs NumPy
only. ``python -m train.ppo GAME`` trains one.
"""
