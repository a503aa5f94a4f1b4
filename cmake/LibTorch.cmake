# LibTorch from the PyPI wheel, CPU libraries only. Does not use the wheel's TorchConfig.cmake, which requires a CUDA
# toolkit and links libraries that take seconds to load.
set(HEADROOM_TORCH_DIR "" CACHE PATH "The installed torch package: the folder with include/ and lib/")
if(NOT HEADROOM_TORCH_DIR)
  file(GLOB found ${CMAKE_BINARY_DIR}/venv/lib/python3*/site-packages/torch
       ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/torch)
  list(GET found 0 HEADROOM_TORCH_DIR)
endif()
if(NOT EXISTS ${HEADROOM_TORCH_DIR}/include/ATen/ATen.h)
  message(FATAL_ERROR "LibTorch not found: run `make build`, or set HEADROOM_TORCH_DIR to the torch package")
endif()
file(READ ${HEADROOM_TORCH_DIR}/version.py torch_version_file)
string(REGEX MATCH "__version__ = '([0-9.]+)" _ "${torch_version_file}")
set(HEADROOM_TORCH_VERSION ${CMAKE_MATCH_1})
message(STATUS "LibTorch ${HEADROOM_TORCH_VERSION} at ${HEADROOM_TORCH_DIR}")

find_package(OpenMP REQUIRED COMPONENTS CXX)
add_library(headroom_libtorch INTERFACE)
add_library(headroom::libtorch ALIAS headroom_libtorch)
target_include_directories(headroom_libtorch SYSTEM INTERFACE ${HEADROOM_TORCH_DIR}/include)
target_compile_options(headroom_libtorch INTERFACE -fopenmp)
# Uses one header per operator: a tenth of the compile time of <ATen/Functions.h>.
target_compile_definitions(headroom_libtorch INTERFACE AT_PER_OPERATOR_HEADERS)
# Links the wheel's OpenMP runtime, so that the process has only one.
target_link_libraries(headroom_libtorch INTERFACE
  ${HEADROOM_TORCH_DIR}/lib/libtorch_cpu.so ${HEADROOM_TORCH_DIR}/lib/libc10.so
  ${HEADROOM_TORCH_DIR}/lib/libgomp.so.1)
list(APPEND HEADROOM_LIBRARY_FOLDERS ${HEADROOM_TORCH_DIR}/lib)
list(APPEND CMAKE_BUILD_RPATH ${HEADROOM_TORCH_DIR}/lib)  # for tests, which are not installed
