"""The routes, and the decision table that says what follows when a step of one fails."""
