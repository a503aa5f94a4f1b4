// Compiled for its precompiled headers, which all tests share (cmake/TestBuild.cmake).
