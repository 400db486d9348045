# Installs the libraries with their headers and a package for find_package(garuda), and the command with the Arrow
# libraries that it was linked against.
include(GNUInstallDirs)
