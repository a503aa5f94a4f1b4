#include "decoder/gpu/cuda/cuda_gpu.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <fstream>
#include <utility>
#include <variant>

#include "decoder/base/errors.h"
#include "decoder/gpu/cuda/cuda_attention.h"
#include "decoder/gpu/cuda/cudnn_convolution.h"
#include "decoder/gpu/cuda/device.h"
#include "decoder/gpu/cuda/status.h"
#include "decoder/gpu/kernels/kernels.h"

namespace headroom::gpu {
namespace {

/// Pinned blocks up to this size are kept for the next reservation. A decode's staging has two, of 32 MiB and
/// slightly more.
constexpr int64_t kMostSpareBytes = int64_t{64} << 20;

struct MemoryInfo {
  int64_t free = 0, total = 0;
};
MemoryInfo memory_info() {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

/// The driver's version from /proc, e.g. "580.159". Falls back to the driver's CUDA version.
std::string driver_version() {
  std::ifstream in("/proc/driver/nvidia/version");
  std::string word;
  while (in >> word) {
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  }
  int version = 0;
  check(cudaDriverGetVersion(&version), "cudaDriverGetVersion");
  return "for CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int64_t used_bytes() {
  const MemoryInfo now = memory_info();
  return now.total - now.free;
}

/// A separate NVTX domain keeps our ranges apart from those of libraries.
nvtxDomainHandle_t range_domain() {
  static const nvtxDomainHandle_t domain = nvtxDomainCreateA("headroom");
  return domain;
}

}  // namespace

CudaGpu::CudaGpu(int device, std::unique_ptr<DriverMemory> driver, std::unique_ptr<DeviceMemory> memory)
    : device_(device), driver_(std::move(driver)), memory_(std::move(memory)) {
  used_before_ = used_bytes();
  try {
    make_streams();
    events_ = std::make_unique<Events>();
    stamps_ = std::make_unique<CudaStamps>(streams_);
    const int64_t before = memory_info().free;
    check(cudnnCreate(&cudnn_), "cudnnCreate");
    check(cudnnSetStream(cudnn_, stream(Stream::compute)), "cudnnSetStream");
    convolution_ = std::make_unique<CudnnConvolution>(cudnn_);
    products_ = std::make_unique<CublasProducts>(stream(Stream::compute));
    attention_ =
        std::make_unique<CudaAttention>(stream(Stream::compute), stream(Stream::beside_compute), *events_);
    library_bytes_ = before - memory_info().free;
  } catch (...) {
    close();
    throw;
  }
}

/// The stream beside the compute stream gets the highest priority: the compute stream will wait for its work.
void CudaGpu::make_streams() {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  for (cudaStream_t& made : streams_) {
    const bool beside = &made == &streams_[static_cast<size_t>(Stream::beside_compute)];
    check(cudaStreamCreateWithPriority(&made, cudaStreamNonBlocking, beside ? greatest : least),
          "cudaStreamCreateWithPriority");
  }
}

CudaGpu::~CudaGpu() {
  release();
  close();
}

void CudaGpu::close() noexcept {
  timer_.reset();
  stamps_.reset();
  attention_.reset();
  products_.reset();
  convolution_.reset();
  events_.reset();
  if (cudnn_ != nullptr) cudnnDestroy(cudnn_);
  for (cudaStream_t made : streams_) {
    if (made != nullptr) cudaStreamDestroy(made);
  }
}

std::string CudaGpu::device() const {
  return device_name(device_) + ", driver " + driver_version();
}

std::string CudaGpu::libraries() const {
  int runtime = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const auto dotted = [](size_t version, size_t major, size_t minor) {
    return std::to_string(version / major) + "." + std::to_string(version % major / minor);
  };
  const size_t cudnn = cudnnGetVersion(), cublas = cublasLtGetVersion();
  return memory_->name() + ", CUDA " + dotted(static_cast<size_t>(runtime), 1000, 10) + ", cuDNN " +
         dotted(cudnn, 10000, 100) + "." + std::to_string(cudnn % 100) + ", cuBLAS " +
         dotted(cublas, 10000, 100);
}

int64_t CudaGpu::free_bytes() const {
  return memory_info().free;
}
int64_t CudaGpu::total_bytes() const {
  return memory_info().total;
}

int64_t CudaGpu::own_bytes() const {
  return driver_->known() ? driver_->grown_bytes() : used_bytes() - used_before_;
}

void CudaGpu::open_range(const std::string& name) {
  nvtxEventAttributes_t range{};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = name.c_str();
  nvtxDomainRangePushEx(range_domain(), &range);
}
void CudaGpu::close_range() {
  nvtxDomainRangePop(range_domain());
}

std::byte* CudaGpu::reserve(int64_t bytes) {
  std::byte* block = memory_->reserve(bytes);
  // An allocator lends memory as soon as it is freed, ahead of the queued work that still uses it. Our
  // streams do not block on other streams, so each of them waits for that work: any of them may be the first
  // to write.
  wait_for_lender();
  return block;
}

void CudaGpu::wait_for_lender() {
  const Event queued = events_->record(static_cast<cudaStream_t>(memory_->stream()));
  for (cudaStream_t ours : streams_) events_->wait(ours, queued);
}

std::byte* CudaGpu::reserve_host(int64_t bytes) {
  const auto spare = std::find_if(spare_host_memory_.begin(), spare_host_memory_.end(),
                                  [&](const PinnedBlock& block) { return block.bytes == bytes; });
  if (spare == spare_host_memory_.end()) {
    host_memory_.push_back({pin(bytes), bytes});
  } else {
    host_memory_.push_back(std::move(*spare));
    spare_host_memory_.erase(spare);
  }
  return host_memory_.back().memory.get();
}

std::shared_ptr<std::byte> CudaGpu::pin(int64_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, static_cast<size_t>(bytes), cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw LimitExceeded("the host refused " + std::to_string(bytes) + " bytes of pinned memory");
  }
  check(status, "cudaHostAlloc");
  return {static_cast<std::byte*>(memory), [](std::byte* pinned) { cudaFreeHost(pinned); }};
}

void CudaGpu::release() noexcept {
  cudaDeviceSynchronize();  // errors were already reported, or nobody waits for this work
  memory_->release();
  std::erase_if(host_memory_, [](const PinnedBlock& block) { return block.bytes > kMostSpareBytes; });
  spare_host_memory_ = std::move(host_memory_);
  host_memory_.clear();
}

void CudaGpu::run(const Call& call) {
  if (timer_) timer_->compute(scope_of(call));
  std::visit(
      [&](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, Convolve>) {
          convolve(one);
        } else if constexpr (std::is_same_v<T, Attend>) {
          attend(one);
        } else {
          gpu::start(one, stream(Stream::compute));
        }
      },
      call);
}

void CudaGpu::convolve(const Convolve& call) {
  // Libraries cannot add a residual of another dtype than the target, and in fp32 none was tried in place on
  // a card. Our own kernels can. Plans fuse no residual in fp32 (fusion_on()).
  if (call.adds() && (call.target.dtype == Dtype::fp32 || call.residual.dtype != call.target.dtype)) {
    gpu::start(call, stream(Stream::compute));
    ++own_convolutions_;
    return;
  }
  const AskedToAdd asked = as_asked(call);
  if (asked.before) gpu::start(*asked.before, stream(Stream::compute));
  for (const Box& left : convolution_->convolve(asked.call)) {
    Convolve rest = asked.call;
    rest.region = left;
    gpu::start(rest, stream(Stream::compute));
    ++own_convolutions_;
  }
}

/// Products in chunks write scores and weights to memory. So they are bound by DRAM: 180 TFLOP/s were
/// measured on an H100. Shared memory binds our kernel if it loads keys and values once. Its rate was not
/// measured. The roofline in attention_tensor_cores.cu allows half of the tensor rate.
void CudaGpu::attend(const Attend& call) {
  if (attends_to_one_tensor(call) || !attend_by_matrices(call, *products_, *attention_))
    gpu::start(call, stream(Stream::compute));
}

void CudaGpu::copy(Stream where, void* to, const void* from, int64_t bytes) {
  const bool timed = timer_ && where != Stream::compute;
  const auto begun = timed ? timer_->begin_copy(where) : Stamps::Stamp{};
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, stream(where)),
        "cudaMemcpyAsync");
  if (timed) timer_->end_copy(where, begun);
}
void CudaGpu::clear(void* memory, int64_t bytes) {
  check(cudaMemsetAsync(memory, 0, static_cast<size_t>(bytes), stream(Stream::compute)), "cudaMemsetAsync");
}

Event CudaGpu::record(Stream where) {
  return events_->record(stream(where));
}
void CudaGpu::wait(Stream where, Event event) {
  if (timer_ && where == Stream::compute) timer_->compute(TimeScope::waiting);
  events_->wait(stream(where), event);
}
void CudaGpu::wait_on_host(Event event) {
  if (timer_) timer_->compute(TimeScope::waiting);  // the host queues no work until then
  events_->wait_on_host(event);
}
bool CudaGpu::happened(Event event) {
  return events_->happened(event);
}

void CudaGpu::restart_scopes() {
  if (!timer_) timer_ = std::make_unique<ScopeTimer>(*stamps_);
  timer_->restart();
  timer_->compute(TimeScope::waiting);
  convolution_->restart_counts();
  own_convolutions_ = 0;
}

std::vector<EngineRuns> CudaGpu::engine_runs() const {
  std::vector<EngineRuns> all = convolution_->engine_runs();
  if (own_convolutions_ > 0) all.push_back({"own kernels", false, own_convolutions_});
  return all;
}

std::vector<EngineChoice> CudaGpu::time_engines(const std::function<void()>& work) {
  return convolution_->time_engines(work);
}
void CudaGpu::prefer_engines(const std::vector<EngineChoice>& choices) {
  convolution_->prefer_engines(choices);
}

std::optional<ScopeSeconds> CudaGpu::scope_seconds() {
  if (!timer_) return {};
  timer_->compute(TimeScope::waiting);
  events_->wait_on_host(events_->record(stream(Stream::compute)));
  return timer_->seconds();
}

}  // namespace headroom::gpu
