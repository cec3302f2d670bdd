"""The documentation as a static site: pages written here, lessons, and whatever can be read off the library itself."""
