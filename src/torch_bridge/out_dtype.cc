#include "torch_bridge/out_dtype.h"

#include <unordered_set>

namespace tp::bridge {

OutDtype out_dtype_of(const std::string& name, const std::string& overload) {
  static const std::unordered_set<std::string> exact = {
      "_cummax",
      "_cummin",
      "abs",
      "addbmm",
      "addmm",
      "addmv",
      "all",
      "amax",
      "amin",
      "aminmax",
      "any",
      "argmax",
      "argmin",
      "avg_pool2d",
      "avg_pool3d",
      "baddbmm",
      "bitwise_not",
      "bmm",
      "bucketize",
      "ceil",
      "complex",
      "conj_physical",
      "cross",
      "cummax",
      "cummin",
      "dot",
      "floor",
      "gather",
      "hash_tensor",
      "heaviside",
      "index_add",
      "index_copy",
      "index_reduce",
      "index_select",
      "isin",
      "isneginf",
      "isposinf",
      "kthvalue",
      "linalg_cross",
      "mm",
      "mode",
      "msort",
      "multinomial",
      "mv",
      "nan_to_num",
      "neg",
      "polar",
      "round",
      "scatter",
      "scatter_add",
      "scatter_reduce",
      "searchsorted",
      "sgn",
      "sign",
      "signbit",
      "sort",
      "take",
      "topk",
      "tril",
      "triu",
      "trunc",
      "vdot",
      "where",
  };
  static const std::unordered_set<std::string> any = {
      "arange", "bernoulli", "cumprod", "cumsum", "eye", "full", "linspace", "logspace", "normal",
  };
  std::string base = name.substr(sizeof("aten::") - 1);
  // max.out and min.out are the elementwise maximum and minimum.
  bool with_dim = (base == "max" || base == "min") && overload.rfind("dim", 0) == 0;
  if (with_dim || exact.count(base)) return OutDtype::exact;
  if (base == "nansum") return OutDtype::computed;
  if (base == "cat" || base == "stack") return OutDtype::joined;
  return any.count(base) ? OutDtype::any : OutDtype::castable;
}

}  // namespace tp::bridge
