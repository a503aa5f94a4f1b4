# Finds the CUDA compiler, if there is one. The build needs no GPU.
set(HEADROOM_CUDA AUTO CACHE STRING "Build the kernels for GPUs: ON, OFF, or AUTO (where a CUDA compiler is found)")
set_property(CACHE HEADROOM_CUDA PROPERTY STRINGS AUTO ON OFF)
if(NOT HEADROOM_CUDA STREQUAL "OFF")
  file(GLOB wheels ${CMAKE_BINARY_DIR}/venv/lib/python3*/site-packages/nvidia/cu13/bin
       ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/nvidia/cu13/bin)
  find_program(HEADROOM_NVCC NAMES $ENV{CUDACXX} nvcc HINTS /usr/local/cuda/bin ${wheels}
               DOC "nvcc of CUDA 12.8 or later")
endif()

# headroom_nvcc_with_ptxas(<result> <nvcc> <ptxas>): an nvcc that assembles with another ptxas. It finds its tools beside itself, so it
# gets a folder of links. nvcc writes the version of its own PTX into each file, and an older ptxas refuses newer versions. So the
# version is lowered. ptxas checks each instruction against it.
function(headroom_nvcc_with_ptxas result nvcc ptxas)
  set(top ${CMAKE_BINARY_DIR}/cuda-compiler)
  file(REAL_PATH ${nvcc} nvcc)
  cmake_path(GET nvcc PARENT_PATH tools)
  file(GLOB links RELATIVE ${tools}/.. ${tools}/../* ${tools}/*)
  list(REMOVE_ITEM links bin bin/ptxas)
  file(REMOVE_RECURSE ${top})
  file(MAKE_DIRECTORY ${top}/bin)
  foreach(link IN LISTS links)
    file(CREATE_LINK ${tools}/../${link} ${top}/${link} SYMBOLIC)
  endforeach()
  execute_process(COMMAND ${ptxas} --version OUTPUT_VARIABLE version)
  if(NOT version MATCHES "release 12\\.(9|[1-9][0-9])")
    message(FATAL_ERROR "${ptxas}: expected ptxas 12.9, found ${version}")
  endif()
  file(CONFIGURE OUTPUT ${top}/bin/ptxas @ONLY CONTENT [[#!/bin/sh
for word; do
  case "$word" in *.ptx) sed -i 's/^\.version 9\..*/.version 8.8/' "$word" ;; esac
done
exec @ptxas@ "$@"
]])
  file(CHMOD ${top}/bin/ptxas PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  set(${result} ${top}/bin/nvcc PARENT_SCOPE)
endfunction()

if(HEADROOM_NVCC AND NOT HEADROOM_CUDA STREQUAL "OFF")
  # Machine code of CUDA 12 runs on drivers of CUDA 12 and 13. That of CUDA 13 does not run on drivers of CUDA 12.
  file(GLOB wheels ${CMAKE_BINARY_DIR}/venv/lib/python3*/site-packages/nvidia/cuda_nvcc/bin
       ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/nvidia/cuda_nvcc/bin)
  find_program(HEADROOM_PTXAS_12 NAMES ptxas PATHS ${wheels} NO_DEFAULT_PATH DOC "ptxas of CUDA 12.9, for drivers of CUDA 12")
  set(CMAKE_CUDA_COMPILER ${HEADROOM_NVCC})
  if(HEADROOM_PTXAS_12)
    headroom_nvcc_with_ptxas(CMAKE_CUDA_COMPILER ${HEADROOM_NVCC} ${HEADROOM_PTXAS_12})
    set(HEADROOM_OLDEST_CUDA 12)
    message(STATUS "kernels for drivers of CUDA 12 and 13, by ${HEADROOM_PTXAS_12}")
  else()
    set(HEADROOM_OLDEST_CUDA 13)
    message(STATUS "no ptxas of CUDA 12: kernels for drivers of CUDA 13")
  endif()
  # A build folder keeps the compiler of its first configuration.
  set(kept ${CMAKE_PLATFORM_INFO_DIR}/CMakeCUDACompiler.cmake)
  if(EXISTS ${kept})
    file(STRINGS ${kept} same REGEX "CMAKE_CUDA_COMPILER \"${CMAKE_CUDA_COMPILER}\"")
    if(NOT same)
      file(REMOVE ${kept})
    endif()
  endif()
  string(APPEND CMAKE_CUDA_FLAGS " --compress-mode=speed")  # the only compression that every driver of CUDA 12 reads
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
