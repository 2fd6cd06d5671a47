"""Looking: who holds memory, what is installed, what speaks what. Nothing here is loaded before somebody asks."""
