// The digits that amounts of a currency have (ISO 4217); two where nobody knows it, as on the server.
export function currencyDigits(currency) {
  try {
    const format = new Intl.NumberFormat("en", { style: "currency", currency: currency.trim() });
    return format.resolvedOptions().maximumFractionDigits;
  } catch {
    return 2;
  }
}
