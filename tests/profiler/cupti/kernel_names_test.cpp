#include "profiler/cupti/kernel_names.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

namespace headroom::profiler::cupti {
namespace {

TEST_CASE("a kernel is named by what it is, not by its parameters") {
  CHECK(short_kernel_name("_Z3addPfS_i") == "add");
  // void headroom::gpu::(anonymous namespace)::gather<float, 4>(headroom::gpu::Gather)
  CHECK(short_kernel_name("_ZN8headroom3gpu12_GLOBAL__N_16gatherIfLi4EEEvNS0_6GatherE") ==
        "headroom::gpu::(anonymous namespace)::gather");
  // void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)
  CHECK(short_kernel_name(
            "_ZN7cutlass7Kernel2I53cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4__xEEvNT_6ParamsE") ==
        "cutlass::Kernel2");
  // A class template's member.
  CHECK(short_kernel_name("_ZN3OneIiE3TwoIfEEvv") == "One::Two");
}

TEST_CASE("names that are no C++ stay as they are") {
  CHECK(short_kernel_name("sm90_xmma_fprop_implicit_gemm_bf16bf16_nhwc_kernel__5x_cudnn") ==
        "sm90_xmma_fprop_implicit_gemm_bf16bf16_nhwc_kernel__5x_cudnn");
  CHECK(short_kernel_name("_Znonsense") == "_Znonsense");
  CHECK(short_kernel_name("a(b) <c>") == "a(b) <c>");
}

TEST_CASE("operators and lambdas are left whole") {
  // bool std::operator< <int>(std::vector<int> const&, std::vector<int> const&), or so
  CHECK(short_kernel_name("_ZN3OnelsERKS_") == "One::operator<<");
  CHECK(short_kernel_name("_ZN3OneclEi") == "One::operator()");
  CHECK(short_kernel_name("_ZN15operator_kernel3runIiEEvv") == "operator_kernel::run");
  CHECK(short_kernel_name("_ZN11my_operatorIiE3runEv") == "my_operator::run");
  const auto lambda = [](auto value) { return value; };
  std::string symbol = "_Z3runI";  // in steps: GCC 12 sees overruns in a sum of strings that are not there
  symbol += typeid(lambda).name();
  symbol += "EvT_";
  CHECK(short_kernel_name(symbol.c_str()) == "run");
}

TEST_CASE("no name, too long a name, and names that are no text") {
  CHECK(short_kernel_name(nullptr) == "kernel");
  CHECK(short_kernel_name("") == "kernel");
  const std::string huge(1 << 20, 'x');
  CHECK(short_kernel_name(huge.c_str()).size() == kMostNameBytes);
  CHECK(short_kernel_name(("_Z" + huge).c_str()).size() == kMostNameBytes);
  CHECK(short_kernel_name(std::string(kMostNameBytes, 'y').c_str()) == std::string(kMostNameBytes, 'y'));
  CHECK(short_kernel_name("caf\xc3\xa9\n") == "caf???");
  // Templates within templates, until the demangler has enough.
  std::string nested = "i";
  for (int i = 0; i < 3000; ++i) nested = "1AI" + nested + "E";
  const std::string name = short_kernel_name(("_Z3runI" + nested + "Evv").c_str());
  CHECK(name.size() <= kMostNameBytes);
  CHECK_FALSE(name.empty());
}

TEST_CASE("each name is kept once, whoever asks") {
  KernelNames names;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        // At another address every time: a module may have been unloaded in between.
        const std::string symbol = "_Z3k" + std::to_string(10 + i % 50) + "v";
        names.index_of(symbol.c_str());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (int32_t i = 0; i < 50; ++i) all.insert(names.at(i));
  CHECK(all.size() == 50);
  CHECK_THROWS(names.at(50));
}

TEST_CASE("beyond a bound kernels have no names of their own") {
  KernelNames names(2);
  CHECK(names.index_of("a") == 0);
  CHECK(names.index_of(nullptr) == 1);
  CHECK(names.at(1) == "kernel");
  const int32_t other = names.index_of("c");
  CHECK(names.index_of("d") == other);
  CHECK(names.at(other) == "other kernels");
  CHECK(names.index_of("a") == 0);
}

}  // namespace
}  // namespace headroom::profiler::cupti
