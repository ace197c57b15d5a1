"""The games behind the interfaces of reinforcement-learning libraries: PettingZoo, Gymnasium and Stable-Baselines3."""
