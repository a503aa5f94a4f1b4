#pragma once

#include <vector>

#include "decoder/plan/sizes.h"

namespace headroom {

/// The operations that a pass runs, each listed once: several steps can share one copy of the parameters.
std::vector<OpId> operations_of(const Pass& pass);
std::vector<OpId> all_operations(const Graph& graph);

/// Bytes of an operation's parameters as the device's code reads them, kernels packed for this algorithm
/// (StorageRules::weights_bytes).
int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm,
                      const Storage& storage);
/// Bytes of all parameters if they stay on the device throughout. Kernels are then packed for the direct
/// algorithm.
int64_t resident_weights_bytes(const Graph& graph, const Storage& storage);
/// Bytes that a pass with these algorithms loads onto the device: its parameters, or only its Winograd
/// kernels if parameters are resident.
int64_t pass_weights_bytes(const Graph& graph, const Pass& pass, const ConvolutionAlgorithms& algorithms,
                           WeightResidency residency, const Storage& storage);
/// Bytes of all parameters that are on the device during one pass.
int64_t device_weights_bytes(const Graph& graph, const Plan& plan, const Pass& pass);

}  // namespace headroom
