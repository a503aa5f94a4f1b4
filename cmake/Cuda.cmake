# Finds the CUDA compiler, if there is one. The build needs no GPU.
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
  # Default: the oldest supported architecture, with PTX that drivers compile for later ones. `make release` builds
  # code for each architecture from Ampere to Blackwell.
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80)
  endif()
  # nvcc does not search the lib folder of its own wheels, and they have no libcudart.so. Headroom links LibTorch's CUDA
  # runtime instead (cmake/CudaLibraries.cmake).
  cmake_path(GET HEADROOM_NVCC PARENT_PATH folder)
  if(EXISTS ${folder}/../lib/libcudart_static.a)
    string(APPEND CMAKE_CUDA_FLAGS " -L${folder}/../lib")
  endif()
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)
  enable_language(CUDA)
  # CMake 3.25 does not know that nvcc supports C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  string(APPEND CMAKE_CUDA_FLAGS " -Xcompiler=-Wall,-Wextra,-Wshadow")
  if(HEADROOM_WERROR)
    string(APPEND CMAKE_CUDA_FLAGS " -Werror=all-warnings,cross-execution-space-call -Xcompiler=-Werror")
  endif()
  set(HEADROOM_CUDA_FOUND TRUE)
  message(STATUS "CUDA ${CMAKE_CUDA_COMPILER_VERSION} at ${CMAKE_CUDA_COMPILER}")
else()
  if(HEADROOM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "no CUDA compiler: set CUDACXX to nvcc, or HEADROOM_CUDA to OFF")
  endif()
  set(HEADROOM_CUDA_FOUND FALSE)
  message(STATUS "no CUDA compiler: built without GPU support")
endif()
