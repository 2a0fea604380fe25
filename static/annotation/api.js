// The operations of the API, one by one, from its OpenAPI document. No other server is asked for anything.
const place = document.getElementById("operations");
SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
