#pragma once
// Attention as products and a softmax in f32, without repeating the keys' heads.

#include "base/target.h"
#include "stablehlo/build.h"

namespace tp {

// "sdpa": inputs q [b,h,s,d], k [b,hk,t,d], v [b,hk,t,dv], then what ints says: {is_causal, has_mask, has_noise};
// number is the scale. A mask [b|1,h|1,s|1,t|1] is added to the scores; noise f32 [b,h,s,t] multiplies the weights
// (dropout). Results: q's dtype [b,h,s,dv], and the logarithm of each row's sum [b,h,s] in f32 (f64 for f64). h is a
// multiple of hk.
Values expand_sdpa(Build& b, const Node& node, const Target& target);

// "sdpa_backward": inputs grad, q, k, v, out, logsumexp, then mask and noise; ints and number as above, ints[3] is 1
// when the mask's gradient is a fourth result. Results: the gradients of q, k, v.
Values expand_sdpa_backward(Build& b, const Node& node, const Target& target);

}  // namespace tp
