"""Players built on the package, used from the checkout: the shipped checkpoints lie here (``agents/<game>.safetensors``).

A checkpoint is a spec like any other: ``agents/flip7.safetensors`` sits down wherever ``ev`` does, and playing it needs
NumPy only. ``python -m train.ppo GAME`` makes one.
"""
