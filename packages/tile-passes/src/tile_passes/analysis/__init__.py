"""What can be known about a program without changing it. Analyses are nouns; passes are verbs."""
