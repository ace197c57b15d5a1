"""Players built on the package, and the shipped checkpoints (``agents/<game>.safetensors``), for use from a checkout.

A checkpoint is a spec like any other: ``agents/flip7.safetensors`` can stand wherever ``ev`` can, and playing it needs only
NumPy. ``python -m train.ppo GAME`` trains one.
"""
