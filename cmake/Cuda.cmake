# The CUDA compiler, where there is one. No GPU is needed to build.
set(HEADROOM_CUDA AUTO CACHE STRING "Build the kernels for GPUs: ON, OFF, or AUTO (where a CUDA compiler is found)")
set_property(CACHE HEADROOM_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT HEADROOM_CUDA STREQUAL "OFF")
  file(GLOB wheels ${CMAKE_BINARY_DIR}/venv/lib/python3*/site-packages/nvidia/cu13/bin
       ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/nvidia/cu13/bin)
  find_program(HEADROOM_NVCC NAMES $ENV{CUDACXX} nvcc HINTS /usr/local/cuda/bin ${wheels}
               DOC "nvcc of CUDA 12.8 or later")
endif()
if(HEADROOM_NVCC AND NOT HEADROOM_CUDA STREQUAL "OFF")
  set(CMAKE_CUDA_COMPILER ${HEADROOM_NVCC})
  # From Ampere to Blackwell; the last as PTX too, for what comes later. One of them where builds are to be quick.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    if(CMAKE_BUILD_TYPE STREQUAL "Debug")
      set(CMAKE_CUDA_ARCHITECTURES 80)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 80-real 86-real 89-real 90-real 100-real 120)
    endif()
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # the one that LibTorch has
  enable_language(CUDA)
  # CMake 3.25 does not know that nvcc has C++20, so CMAKE_CUDA_STANDARD stays unset.
  string(APPEND CMAKE_CUDA_FLAGS " -std=c++20 -Werror=all-warnings -Xcompiler=-Wall,-Wextra,-Wshadow,-Werror")
  set(HEADROOM_CUDA_FOUND TRUE)
  message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION} at ${CMAKE_CUDA_COMPILER}")
else()
  if(HEADROOM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "no CUDA compiler: set CUDACXX to nvcc, or HEADROOM_CUDA to OFF")
  endif()
  set(HEADROOM_CUDA_FOUND FALSE)
  message(STATUS "no CUDA compiler: built without GPU support")
endif()
