// The operations of the API, one by one, from its OpenAPI document. No other server is asked for anything.
const container = document.getElementById("operations");
SwaggerUIBundle({
  url: container.dataset.document,
  domNode: container,
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
