# What the CUDA module links, from the wheels that LibTorch brings: the CUDA runtime, cuDNN, cuBLASLt and LibTorch's
# caching allocator. The wheels have no names without versions, so files are named whole.
cmake_path(GET HEADROOM_TORCH_DIR PARENT_PATH wheels)
set(HEADROOM_CUDA_LIBRARIES_FOUND TRUE)
if(NOT CMAKE_CUDA_COMPILER_VERSION MATCHES "^13\\.")
  set(HEADROOM_CUDA_LIBRARIES_FOUND FALSE)
  message(STATUS "nvcc ${CMAKE_CUDA_COMPILER_VERSION} does not go with LibTorch's CUDA 13: built without GPU support")
endif()
add_library(headroom_cuda_libraries INTERFACE)
add_library(headroom::cuda_libraries ALIAS headroom_cuda_libraries)
target_include_directories(headroom_cuda_libraries SYSTEM INTERFACE ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES}
  ${wheels}/nvidia/cudnn/include ${wheels}/nvidia/cu13/include ${HEADROOM_TORCH_DIR}/include)
foreach(library ${HEADROOM_TORCH_DIR}/lib/libc10_cuda.so ${HEADROOM_TORCH_DIR}/lib/libc10.so
        ${wheels}/nvidia/cu13/lib/libcudart.so.13 ${wheels}/nvidia/cu13/lib/libcublasLt.so.13
        ${wheels}/nvidia/cudnn/lib/libcudnn.so.9)
  if(NOT EXISTS ${library})
    set(HEADROOM_CUDA_LIBRARIES_FOUND FALSE)
    message(STATUS "no ${library}: built without GPU support")
  endif()
  target_link_libraries(headroom_cuda_libraries INTERFACE ${library})
endforeach()
