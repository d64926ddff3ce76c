"""What is copied into exported wheels, where it runs with numpy and none of our packages."""
