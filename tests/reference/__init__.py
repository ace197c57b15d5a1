"""Plain references of the games, written from their numbered rules: slow, and without any code of the package."""
