// Bessel functions of both kinds and the Airy function, in double but for I.

#include <cmath>
#include <numbers>
#include <span>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

// A Chebyshev series at t in [-1, 1], by Clenshaw's rule. Coefficients below the dtype's precision are left out.
Value chebyshev(Build& b, const Value& t, std::span<const double> series) {
  const double least = t.dtype() == Dtype::f64 ? 0 : 1e-10;
  Value twice = b.mul(t, 2), high = b.like(t, 0), higher = high;
  for (size_t k = series.size() - 1; k > 0; --k) {
    if (std::abs(series[k]) < least) continue;
    Value next = b.add(b.sub(b.mul(twice, high), higher), series[k]);
    higher = std::exchange(high, next);
  }
  return b.add(b.sub(b.mul(t, high), higher), series[0]);
}

// exp(-|x|) I0(x): one series in |x| up to 8, one in 1 / |x| above, both fitted to I0 itself.
constexpr double kBelowEight[] = {
    0.33839763720473803,    -0.30468267234319846,    0.17162090152220871,    -0.094901097048047611,
    0.049305284239670663,   -0.023737414805899412,   0.010546460394594941,   -0.0043243099950505178,
    0.0016394756169411939,  -0.00057637557453848467, 0.00018850288509570517, -5.7541950100697956e-05,
    1.6448448070602305e-05, -4.4167383582899292e-06, 1.1173875388403865e-06, -2.6707938517722685e-07,
    6.0469949897390404e-08, -1.3000249898809102e-08, 2.6598234781349817e-09, -5.1897948716295166e-10,
    9.6758112633210655e-11, -1.7268342311638207e-11, 2.9551944225048034e-12, -4.8567816435252102e-13,
    7.67552688074602e-14,   -1.1590728377086635e-14};
constexpr double kAboveEight[] = {0.40224520550705439,     0.0033691164782556696,   6.8897583469158298e-05,
                                  2.8913705208161168e-06,  2.0489185892073489e-07,  2.2666689884764947e-08,
                                  3.3962319752074004e-09,  4.9406022328835064e-10,  1.1889010229863134e-11,
                                  -3.149916161238053e-11,  -1.3215896552034451e-11, -1.7941773067242651e-12,
                                  7.1799269004205193e-13,  3.8528347179322962e-13,  1.5208862814974911e-14,
                                  -4.1497361102926786e-14, -9.8482203295113816e-15, 3.8136160895874129e-15};

Value scaled_bessel_zero(Build& b, const Value& x) {
  Value size = b.abs(x);
  Value low = chebyshev(b, b.sub(b.mul(size, 0.25), 1), kBelowEight);
  Value far = b.maximum(size, b.like(size, 8));
  Value high = b.mul(chebyshev(b, b.sub(b.div(b.like(far, 16), far), 1), kAboveEight), b.rsqrt(far));
  return b.select(b.compare(Direction::le, size, 8), low, high);
}

Value i0e(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) { return scaled_bessel_zero(b, w); });
}
Value i0(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    // Half the exponent on each side: exp(|x|) alone overflows before I0 does.
    Value half = b.exponential(b.mul(b.abs(w), 0.5));
    return b.mul(b.mul(scaled_bessel_zero(b, w), half), half);
  });
}
Value i1e(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) { return b.unary(Op::bessel_i1e, w); });
}
Value i1(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    Value half = b.exponential(b.mul(b.abs(w), 0.5));
    return b.mul(b.mul(b.unary(Op::bessel_i1e, w), half), half);
  });
}

// --- rational approximations and series as in Cephes (S. L. Moshier), highest power first

constexpr double kJ0Pp[] = {0.0007969367292973471,
                            0.08283523921074408,
                            1.239533716464143,
                            5.447250030587687,
                            8.74716500199817,
                            5.303240382353949,
                            1.0};
constexpr double kJ0Pq[] = {0.0009244088105588637,
                            0.08562884743544745,
                            1.2535274390105895,
                            5.470977403304171,
                            8.761908832370695,
                            5.306052882353947,
                            1.0};
constexpr double kJ0Qp[] = {-0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683,
                            -177.68116798048806,   -147.07750515495118, -51.41053267665993,  -6.050143506007285};
constexpr double kJ0Qq[] = {64.3178256118178,  856.4300259769806,  3882.4018360540163, 7240.467741956525,
                            5930.727011873169, 2062.0933166032783, 242.0057402402914};
constexpr double kJ0Rp[] = {-4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0};
constexpr double kJ0Rq[] = {499.563147152651,  173785.4016763747,  48440965.83399621,      11185553704.535683,
                            2112775201154.892, 310518229857422.56, 3.1812195594320496e+16, 1.7108629408104315e+18};
constexpr double kJ1Pp[] = {0.0007621256162081731,
                            0.07313970569409176,
                            1.1271960812968493,
                            5.112079511468076,
                            8.424045901417724,
                            5.214515986823615,
                            1.0};
constexpr double kJ1Pq[] = {0.0005713231280725487,
                            0.06884559087544954,
                            1.105142326340617,
                            5.073863861286015,
                            8.399855543276042,
                            5.209828486823619,
                            1.0};
constexpr double kJ1Qp[] = {0.05108625947501766, 4.982138729512334, 75.82382841325453,  366.7796093601508,
                            710.8563049989261,   597.4896124006136, 211.68875710057213, 25.207020585802372};
constexpr double kJ1Qq[] = {74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562,
                            7997.041604473507, 2826.1927851763908, 336.0936078106983};
constexpr double kJ1Rp[] = {-899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0};
constexpr double kJ1Rq[] = {620.8364781180543, 256987.25675774884, 83514679.14319493,     22151159547.97925,
                            4749141220799.914, 784369607876235.9,  8.952223361846274e+16, 5.322786203326801e+18};
constexpr double kY0Yp[] = {15592.436785523574, -14663929.59039716,  5435264770.518765,      -982136065717.9115,
                            87590639439536.7,   -3466283033847297.0, 4.4273326857256984e+16, -1.8495080043698668e+16};
constexpr double kY0Yq[] = {1041.2835366425984, 626107.330137135,   268919633.39381415,    86400248710.3935,
                            20297961275010.555, 3171577528429750.5, 2.5059625617265306e+17};
constexpr double kY1Yp[] = {1263204747.9017804,  -647355876379.1603,    114509511541823.73,
                            -8127702555013251.0, 2.024394757135949e+17, -7.788771962659501e+17};
constexpr double kY1Yq[] = {594.3015923461282,  235564.09294306856, 73481194.44597217,     18760131610.870617,
                            3882312774962.3857, 620557727146953.8,  6.871410873553005e+16, 3.9727060811656064e+18};
constexpr double kK0A[] = {1.374465435613523e-16,  4.25981614279661e-14,  1.0349695257633842e-11, 1.904516377220209e-09,
                           2.5347910790261494e-07, 2.286212103119452e-05, 0.001264615411446926,   0.0359799365153615,
                           0.3442898999246285,     -0.5353273932339028};
constexpr double kK0B[] = {
    5.300433772686263e-18,  -1.6475804301524212e-17, 5.2103915050390274e-17, -1.678231096805412e-16,
    5.512055978524319e-16,  -1.848593377343779e-15,  6.3400764774050706e-15, -2.2275133269916698e-14,
    8.032890775363575e-14,  -2.9800969231727303e-13, 1.140340588208475e-12,  -4.514597883373944e-12,
    1.8559491149547177e-11, -7.957489244477107e-11,  3.577397281400301e-10,  -1.69753450938906e-09,
    8.574034017414225e-09,  -4.660489897687948e-08,  2.766813639445015e-07,  -1.8317555227191195e-06,
    1.39498137188765e-05,   -0.00012849549581627802, 0.0015698838857300533,  -0.0314481013119645,
    2.4403030820659555};
constexpr double kK1A[] = {-7.023863479386288e-18,  -2.427449850519366e-15, -6.666901694199329e-13,
                           -1.4114883926335278e-10, -2.213387630734726e-08, -2.4334061415659684e-06,
                           -0.0001730288957513052,  -0.006975723859639864,  -0.12261118082265715,
                           -0.3531559607765449,     1.5253002273389478};
constexpr double kK1B[] = {
    -5.756744483665017e-18,  1.7940508731475592e-17, -5.689462558442859e-17,  1.838093544366639e-16,
    -6.057047248373319e-16,  2.038703165624334e-15,  -7.019837090418314e-15,  2.4771544244813043e-14,
    -8.976705182324994e-14,  3.3484196660784293e-13, -1.2891739609510289e-12, 5.13963967348173e-12,
    -2.1299678384275683e-11, 9.218315187605006e-11,  -4.1903547593418965e-10, 2.015049755197033e-09,
    -1.0345762465678097e-08, 5.7410841254500495e-08, -3.5019606030878126e-07, 2.406484947837217e-06,
    -1.936197974166083e-05,  0.00019521551847135162, -0.002857816859622779,   0.10392373657681724,
    2.7206261904844427};
constexpr double kAiryAn[] = {0.346538101525629,  12.007595273964581, 76.27960536152345,  168.08922493463058,
                              159.75639135016442, 70.53609068404442,  14.026469116338967, 1.0};
constexpr double kAiryAd[] = {0.5675945326387702, 14.75625625848472, 84.51389701414746,  177.31808814540045,
                              164.2346928715297,  71.47784008255756, 14.095913560783403, 1.0};
constexpr double kAiryAfn[] = {-0.1316963234183318,    -0.6264565444319123,    -0.6931580360369335,
                               -0.2797799815451191,    -0.04919001326095003,   -0.004062659235948854,
                               -0.0001592764962392621, -2.776491081552329e-06, -1.6778769848911465e-08};
constexpr double kAiryAfd[] = {13.356042070655324,   32.682503279522464,    26.736704094149957,
                               9.187074029072596,    1.4752914677166642,    0.11568717379518804,
                               0.004402916416152112, 7.547203482874142e-05, 4.5185009297058035e-07};
constexpr double kAiryAgn[] = {0.01973399320916857,  0.39110302961568827,   1.0657989759959559,   0.9391692298166502,
                               0.35146565610554764,  0.06338889196289255,   0.005858041130483885, 0.000282851600836737,
                               6.98793669997261e-06, 8.117892395543892e-08, 3.415517847659236e-10};
constexpr double kAiryAgd[] = {
    9.30892908077442,    19.835292871831214,   15.564662893286462,     5.476860694229755,      0.9542936116189619,
    0.08645808263523921, 0.004126565238242226, 0.00010125908511650914, 1.1716673321441352e-06, 4.9183457006293e-09};

Value polynomial(Build& b, const Value& x, std::span<const double> coefficients) {
  Value sum = b.like(x, coefficients[0]);
  for (double c : coefficients.subspan(1)) sum = b.add(b.mul(sum, x), c);
  return sum;
}
Value ratio(Build& b, const Value& x, std::span<const double> above, std::span<const double> below) {
  return b.div(polynomial(b, x, above), polynomial(b, x, below));
}

Value choose(Build& b, Direction direction, const Value& x, double n, const Value& yes, const Value& no) {
  return b.select(b.compare(direction, x, n), yes, no);
}

// What the forms for 5 and above need of one order.
struct Far {
  std::span<const double> pp, pq, qp, qq;
  double shift;  // of the angle
};
constexpr Far kFar[] = {{kJ0Pp, kJ0Pq, kJ0Qp, kJ0Qq, std::numbers::pi / 4},
                        {kJ1Pp, kJ1Pq, kJ1Qp, kJ1Qq, 3 * std::numbers::pi / 4}};

// sqrt(2 / (pi x)) (p cos - q sin) for J and (p sin + q cos) for Y.
Value beyond_five(Build& b, const Value& x, const Far& far, bool second_kind) {
  Value z = b.div(b.like(x, 25), b.mul(x, x));
  Value p = ratio(b, z, far.pp, far.pq);
  Value q = b.mul(b.div(b.like(x, 5), x), ratio(b, z, far.qp, far.qq));
  Value angle = b.sub(x, far.shift), sine = b.sine(angle), cosine = b.cosine(angle);
  Value wave = second_kind ? b.add(b.mul(p, sine), b.mul(q, cosine)) : b.sub(b.mul(p, cosine), b.mul(q, sine));
  return b.mul(b.mul(wave, std::sqrt(2 / std::numbers::pi)), b.rsqrt(x));
}

Value j0(Build& b, const Value& argument) {
  Value x = b.abs(argument), square = b.mul(x, x);
  Value roots = b.mul(b.sub(square, 5.78318596294678452118), b.sub(square, 30.4712623436620863991));
  Value low = b.mul(roots, ratio(b, square, kJ0Rp, kJ0Rq));
  Value high = beyond_five(b, b.maximum(x, b.like(x, 5)), kFar[0], false);
  return choose(b, Direction::le, x, 5, low, high);
}

Value j1(Build& b, const Value& argument) {
  Value x = b.abs(argument), square = b.mul(x, x);
  Value roots = b.mul(b.sub(square, 14.6819706421238932572), b.sub(square, 49.2184563216946036703));
  Value low = b.mul(b.mul(roots, x), ratio(b, square, kJ1Rp, kJ1Rq));
  Value high = beyond_five(b, b.maximum(x, b.like(x, 5)), kFar[1], false);
  Value size = choose(b, Direction::le, x, 5, low, high);
  return choose(b, Direction::lt, argument, 0, b.negate(size), size);
}

// The singularity at 0, and nothing left of it.
Value right_of_zero(Build& b, const Value& x, double at_zero, const Value& value) {
  Value here = choose(b, Direction::eq, x, 0, b.like(x, at_zero), value);
  return choose(b, Direction::lt, x, 0, b.like(x, NAN), here);
}

Value y0(Build& b, const Value& x) {
  Value square = b.mul(x, x);
  Value low = b.add(ratio(b, square, kY0Yp, kY0Yq), b.mul(b.mul(b.log(x), j0(b, x)), 2 / std::numbers::pi));
  Value high = beyond_five(b, b.maximum(x, b.like(x, 5)), kFar[0], true);
  return right_of_zero(b, x, -INFINITY, choose(b, Direction::le, x, 5, low, high));
}

Value y1(Build& b, const Value& x) {
  Value square = b.mul(x, x), one = b.like(x, 1);
  Value logarithm = b.sub(b.mul(j1(b, x), b.log(x)), b.div(one, x));
  Value low = b.add(b.mul(x, ratio(b, square, kY1Yp, kY1Yq)), b.mul(logarithm, 2 / std::numbers::pi));
  Value high = beyond_five(b, b.maximum(x, b.like(x, 5)), kFar[1], true);
  return right_of_zero(b, x, -INFINITY, choose(b, Direction::le, x, 5, low, high));
}

// A Chebyshev series as Cephes keeps it: highest order first, the lowest counted twice, t twice the argument.
Value reversed_series(Build& b, const Value& t, std::span<const double> series) {
  Value before = b.like(t, 0), now = b.like(t, series[0]), older = before;
  for (double c : series.subspan(1)) {
    older = std::exchange(before, now);
    now = b.add(b.sub(b.mul(t, before), older), c);
  }
  return b.mul(b.sub(now, older), 0.5);
}

// exp(x) K(x), of order 0 or 1.
Value scaled_k(Build& b, const Value& x, int order) {
  Value small = b.minimum(x, b.like(x, 2)), large = b.maximum(x, b.like(x, 2));
  Value at = b.sub(b.mul(small, small), 2), logarithm = b.log(b.mul(small, 0.5));
  Value low;
  if (order == 0) {
    Value i = b.mul(scaled_bessel_zero(b, small), b.exponential(small));
    low = b.sub(reversed_series(b, at, kK0A), b.mul(logarithm, i));
  } else {
    Value i = b.mul(b.unary(Op::bessel_i1e, small), b.exponential(small));
    low = b.add(b.mul(logarithm, i), b.div(reversed_series(b, at, kK1A), small));
  }
  low = b.mul(low, b.exponential(small));
  Value far = reversed_series(b, b.sub(b.div(b.like(x, 8), large), 2), order == 0 ? kK0B : kK1B);
  Value high = b.mul(far, b.rsqrt(large));
  return right_of_zero(b, x, INFINITY, choose(b, Direction::le, x, 2, low, high));
}

template <int order>
Value scaled_k_of(Build& b, const Value& x) {
  return scaled_k(b, x, order);
}
template <int order>
Value k_of(Build& b, const Value& x) {
  // At infinity the scaled function times exp(-x) is 0.
  return b.mul(scaled_k(b, x, order), b.exponential(b.negate(x)));
}

// --- Ai: Maclaurin's series near 0, rational approximations beyond

constexpr double kNearZero = 2.09;
constexpr int kAiryTerms = 18;  // the next one is below 2^-53 of the sum there

Value airy_near(Build& b, const Value& x) {
  Value cube = b.mul(b.mul(x, x), x), m = b.like(x, 1), n = x, f = m, g = x;
  for (int k = 1; k <= kAiryTerms; ++k) {
    m = b.div(b.mul(m, cube), (3.0 * k - 1) * (3.0 * k));
    n = b.div(b.mul(n, cube), (3.0 * k) * (3.0 * k + 1));
    f = b.add(f, m);
    g = b.add(g, n);
  }
  return b.sub(b.mul(f, 0.355028053887817239260), b.mul(g, 0.258819403792806798405));
}

Value airy(Build& b, const Value& x) {
  Value size = b.maximum(b.abs(x), b.like(x, kNearZero)), root = b.sqrt(b.sqrt(size));
  Value zeta = b.mul(b.mul(size, b.sqrt(size)), 2.0 / 3), z = b.div(b.like(x, 1), zeta), zz = b.mul(z, z);
  Value amplitude = b.div(b.like(x, std::numbers::inv_sqrtpi), root);
  Value angle = b.add(zeta, std::numbers::pi / 4);
  Value in_phase = b.add(b.mul(zz, ratio(b, zz, kAiryAfn, kAiryAfd)), 1);
  Value wave =
      b.sub(b.mul(b.sine(angle), in_phase), b.mul(b.cosine(angle), b.mul(z, ratio(b, zz, kAiryAgn, kAiryAgd))));
  Value left = b.mul(amplitude, wave);
  Value right = b.mul(b.mul(amplitude, b.mul(ratio(b, z, kAiryAn, kAiryAd), 0.5)), b.exponential(b.negate(zeta)));
  Value near = airy_near(b, b.clamp(b.like(x, -kNearZero), x, b.like(x, kNearZero)));
  Value out = choose(b, Direction::lt, x, -kNearZero, left, choose(b, Direction::ge, x, kNearZero, right, near));
  return b.select(b.is_finite(x), out, b.like(x, NAN));
}

template <Value (*F)(Build&, const Value&)>
Value evaluated(Build& b, Value x) {
  return in_double(b, x, [&](const Value& wide) { return F(b, wide); });
}

TP_OP("aten::i0", i0, Layout::pointwise);
TP_OP("aten::special_i0e", i0e, Layout::pointwise);
TP_OP("aten::special_i1", i1, Layout::pointwise);
TP_OP("aten::special_i1e", i1e, Layout::pointwise);
TP_OP("aten::special_modified_bessel_i0", i0, Layout::pointwise);
TP_OP("aten::special_modified_bessel_i1", i1, Layout::pointwise);
TP_OP("aten::special_bessel_j0", evaluated<j0>, Layout::pointwise);
TP_OP("aten::special_bessel_j1", evaluated<j1>, Layout::pointwise);
TP_OP("aten::special_bessel_y0", evaluated<y0>, Layout::pointwise);
TP_OP("aten::special_bessel_y1", evaluated<y1>, Layout::pointwise);
TP_OP("aten::special_modified_bessel_k0", evaluated<k_of<0>>, Layout::pointwise);
TP_OP("aten::special_modified_bessel_k1", evaluated<k_of<1>>, Layout::pointwise);
TP_OP("aten::special_scaled_modified_bessel_k0", evaluated<scaled_k_of<0>>, Layout::pointwise);
TP_OP("aten::special_scaled_modified_bessel_k1", evaluated<scaled_k_of<1>>, Layout::pointwise);
TP_OP("aten::special_airy_ai", evaluated<airy>, Layout::pointwise);

}  // namespace
}  // namespace tp
