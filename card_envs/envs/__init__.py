"""The doors that reinforcement-learning libraries knock at: the same games behind each library's own interface."""
